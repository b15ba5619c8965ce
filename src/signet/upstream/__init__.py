"""The only way out: clients of the services behind the toolsets."""
