"""What the settings of a team make. Each part is loaded if a setting asks for it; without one, it costs nothing."""
