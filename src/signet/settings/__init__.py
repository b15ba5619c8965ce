"""Settings of the process and of toolsets: described, read, merged, shown and explained."""
