// Package page reads a few wanted metrics from a page that a pod serves: Prometheus' text
// format, OpenMetrics text, or delimited protobuf messages (io.prometheus.client).
//
// # What is read
//
// A [Want] names a sample as the page has it: http_requests_total, and x_count, x_sum,
// x_bucket (with label le) of a histogram or x (with label quantile) of a summary x.
// Protobuf has these names nowhere; there they are made as the text format makes them.
// Each series that the selector matches is handed out with a hash of its labels, which is
// the same for the same labels in any order, as long as the process runs. Labels with an
// empty value count as absent, as in Prometheus. Values may be NaN or infinite.
//
// Exemplars are passed over. Timestamps are handed out with the values: without one, the time of a value is when the
// page arrived.
//
// # What is accepted
//
// Of text, only the lines of wanted samples are read, all others are skipped, whatever is
// in them. The whole page is searched, although both formats want the lines of a metric
// together: Prometheus takes others too, and a sum of half the series would be a wrong
// value that nothing shows. Lines whose metric name is in quotes are skipped: such a name
// is in quotes because it cannot be a wanted one.
//
// A page must be whole: OpenMetrics ends with # EOF, and a protobuf message has the length
// that it says. Otherwise the last number could be half of one, and a metric could seem to be
// absent ([ErrTruncated]). Text has no end of its own. Its last line may be without a line
// end, as for Prometheus, so it is for the caller to see that the answer came to its end.
//
// The measure is Prometheus' own library (expfmt), applied to the wanted metrics alone.
// What this package accepts expfmt accepts too, with the same values; but exemplars, and
// other parts of a protobuf message that are not read, may be damaged. What expfmt accepts
// is accepted here but for label names in quotes and what is beyond the bounds of [Config].
//
// # Bounds
//
// A page is written by a stranger. Reading takes time in proportion to the page's size, and
// memory for the labels of one line. After an error the series that were handed out count
// for nothing. Errors do not quote the page.
package page
