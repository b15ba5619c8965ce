"""Attacks on a real server over real sockets; a bystander is answered between the attacker's steps."""
