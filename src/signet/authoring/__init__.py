"""Tools of the user's own: declared on functions, their contracts derived from types, loaded from targets."""
