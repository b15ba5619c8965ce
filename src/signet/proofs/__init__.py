"""Questions about schemas that somebody else wrote, answered in a child process with a deadline and little memory."""
