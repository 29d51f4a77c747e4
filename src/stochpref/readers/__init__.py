# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Readers and writers: CSV, Parquet, Pabulib and data frames in; CSV and Parquet out.

A source goes through four stages, one file each: `tables` turns any source into named columns, `mapping` finds which
column plays which role, `drafts` (or `pabulib`) arranges the cells by observation and good, and `scanning` applies the
rules of `stochpref.observations` and says which rows of the file break them. `folders` does the same block by block for
data that memory cannot hold. Whatever the bytes, only our own
exceptions come out.
"""

from stochpref.readers.folders import StoredObservations as StoredObservations
from stochpref.readers.scanning import read_menus as read_menus
from stochpref.readers.scanning import read_observations as read_observations
from stochpref.readers.scanning import read_orders as read_orders
from stochpref.readers.scanning import scan as scan
from stochpref.readers.scans import BadRow as BadRow
from stochpref.readers.scans import Scan as Scan
from stochpref.readers.writing import write_menus as write_menus
from stochpref.readers.writing import write_observations as write_observations
