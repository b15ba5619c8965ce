"""The toolsets: one folder each, none knows another."""
