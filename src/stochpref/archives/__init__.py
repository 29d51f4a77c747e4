# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Files that may be damaged or altered when they are read: JSON (`text`) and named arrays (`arrays`, `trees`).

Whatever the bytes, reading ends: in what was written, or in `UnreadableData`. Nothing is built but numbers, texts,
lists and arrays, and no more of them than some twenty times the bytes of the file: sizes are checked before anything
is read. `netcdf` reads files of version 0.1.0, whose library cannot promise that.
"""
