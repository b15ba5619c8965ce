"""The online-judge backend on loopback, with sample problems written for this project."""
