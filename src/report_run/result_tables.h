#pragma once
// The results of a run as parts of its page: the headline, its figures, tables and distributions.

#include "report/html_report.h"
#include "report_run/run_parts.h"

namespace kw {

void add_results(HtmlReport& report, const RunParts& parts);

}  // namespace kw
