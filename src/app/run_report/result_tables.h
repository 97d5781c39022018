#pragma once
// The results of a run as parts of its page: the headline, its figures, tables and distributions.

#include "app/run_report/run_parts.h"
#include "base/page/html_report.h"

namespace kw {

void add_results(HtmlReport& report, const RunParts& parts);

}  // namespace kw
