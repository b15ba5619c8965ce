"""The upstreams: clients of the services behind the toolsets, and the only modules that use the network for them."""
