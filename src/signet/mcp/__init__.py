"""MCP as a client speaks it: messages, sessions, links to servers, and what a server says about itself."""
