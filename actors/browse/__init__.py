# SPDX-License-Identifier: Apache-2.0
"""`foragerl browse`: a person acts in the agent's place and sees what it sees.

command.py   the command line: a task or a page, and where it is saved
session.py   the loop: show, read a line, act
lines.py     standard input as lines, without holding up the browser
words.py     what a person types, as an action or as a wish to see something
screen.py    lines in colours
saving.py    the episode as JSON lines and as a GIF
"""
