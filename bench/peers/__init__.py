"""The same tool served by other libraries, each written the way its own documentation writes it."""
