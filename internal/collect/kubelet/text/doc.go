// Package text names the metric families that are read from a kubelet's /metrics/resource and /metrics/cadvisor, and
// parses their lines with package page.
//
// A [page.Line] has the labels as they stand in the text, the value in the family's own unit (seconds of CPU, bytes,
// seconds since 1970) and, where the text has one, the timestamp. Values may be NaN or infinite; callers interpret
// them.
//
// Parsing is strict: a line without a metric name is an error, so that the page of another server is not taken for that
// of a kubelet without containers. Names in quotes, which no family here needs, are errors too.
package text
