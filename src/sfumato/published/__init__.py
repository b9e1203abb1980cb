"""What papers printed and does not hold, a module a paper: kept to be compared with and refuted.
"""
