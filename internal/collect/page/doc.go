// Package page reads a few wanted metrics from a page in Prometheus' text format or OpenMetrics, straight from its
// bytes: [Lines] reads the samples with given names, as kubelets have them, and [Parser] the series that selectors
// match, as pods have them.
//
// # What is read
//
// A [Want] names a sample as the page has it: http_requests_total, and x_count, x_sum, x_bucket (with label le) of a
// histogram or x (with label quantile) of a summary x. The parser passes on each series that the selector matches, with
// a hash of its labels, which is the same for the same labels in any order, as long as the process runs. Labels with an
// empty value count as absent, as in Prometheus. Values may be NaN or infinite.
//
// Exemplars are skipped. Timestamps are passed on with the values: without one, the time of a value is the page's
// arrival.
//
// # What is accepted
//
// Only the lines of wanted samples are parsed, all others are skipped, whatever is in them. The whole page is searched,
// although both formats want the lines of a metric together: Prometheus takes others too, and a sum of half the series
// would be a wrong value without an error. Lines whose metric name is in quotes are skipped: a wanted name needs no
// quotes. Where [LinesConfig] is strict, as for kubelets, a line without a metric name or with one in quotes is an
// error.
//
// A page must be whole: OpenMetrics ends with # EOF. Otherwise the last number could be truncated, and a metric could
// seem to be absent ([ErrTruncated]). The text format has no end mark. Its last line may be without a line end, as for
// Prometheus, so the caller must check that the response was complete; strictly, it is an error.
//
// The reference is Prometheus' own library (expfmt), applied to the wanted metrics alone. Pages that this package
// accepts expfmt accepts too, with the same values. Pages that expfmt accepts are accepted here, except label names in
// quotes and pages beyond the bounds of [Config].
//
// # Protobuf
//
// Delimited messages of io.prometheus.client are not read: no library that has them lacks text, which the Accept header
// requests, and they are no quicker to read. Native histograms, which text does not have, would be a reason to read
// them. On the page of a Go service with 20 routes, 34 kB of text, a reader of both took 142 µs for the counter of
// requests in text and 109 µs in protobuf, and 37 µs and 150 µs for the count of a histogram (the quickest of three
// runs beside other work).
//
// # Bounds
//
// A page is untrusted input. Reading takes time in proportion to the page's size, and memory for the labels of one
// line. After an error the series that were passed on are invalid. Errors do not quote the page.
package page
