"""The clients that call Signet: which file each reads, and how an entry is put into it. Pure: texts in, texts out."""
