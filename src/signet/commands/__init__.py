"""The commands that people type, and the drop-in servers; each module is imported when its command is asked for."""
