# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""A fit as one page: verdict, data, what customers want, whether to trust it, demand, and a what-if that answers.

`words` says what is on the page, `pictures` draws it, `whatif` holds the customers that the page asks, `page` writes.
"""

from stochpref.report.page import write_report as write_report
