"""The console: a page at `/` on which a person sees, tries and understands what agents get."""
