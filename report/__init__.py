"""A page and drawings from the samples of `weft bench --json FILE`: `./dev report FILE`.

samples.py reads, experiment.py groups, stats.py computes, draw/ draws and says what a drawing shows, page.py writes.
Nothing else than the samples is read: what no run has measured is not on the page, or is there as missing.
"""
