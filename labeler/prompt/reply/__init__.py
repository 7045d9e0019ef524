"""How the text of a reply is read: by the reader that a prompt declares."""
