# SPDX-License-Identifier: Apache-2.0
"""What a person looks at.

charts      lines as SVG
curves      a run's metrics as the lines to draw
scenes      one step as HTML: picture, element boxes, mask, rewards by layer
film        pictures of an attempt as an animated GIF
report      the run as one self-contained page
viewer      a local server to step through archived attempts and to compare two runs
style       the style sheet of both
"""
