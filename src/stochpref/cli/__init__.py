# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""The command line: parse options, make one library call, write what comes out.

Results go to stdout or a file, messages to stderr. Exit codes: 0 done, 2 bad input, 3 not proven or not converged (only
where that was required), 130 interrupted. Everything heavy is imported inside the commands, so that ``--help`` answers
at once.
"""

from stochpref.cli import asking as asking
from stochpref.cli import comparing as comparing
from stochpref.cli import data as data
from stochpref.cli import deciding as deciding
from stochpref.cli import demonstrating as demonstrating
from stochpref.cli import designing as designing
from stochpref.cli import fitting as fitting
from stochpref.cli import reporting as reporting
from stochpref.cli import reproducing as reproducing
from stochpref.cli import trials as trials
from stochpref.cli.application import app as app
from stochpref.cli.application import main as main
