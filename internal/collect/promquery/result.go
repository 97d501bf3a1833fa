package promquery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is the result of a request.
type result struct {
	series []float64
	// at is the timestamp of the value, or of its arrival if that is earlier; asked is the time of the request.
	at, asked time.Time
	err       error
	// isNull is true if err means that the result has no number.
	isNull bool
	// isTimeout is true if the server took too long.
	isTimeout bool
}

// isLike reports whether the results are equal for decisions.
func (r *result) isLike(other *result) bool {
	if r.err != nil && other.err != nil {
		return r.isNull == other.isNull && r.err.Error() == other.err.Error()
	}
	return r.err == nil && other.err == nil && slices.Equal(r.series, other.series)
}

var (
	errNotJSON   = errors.New("the answer is not that of Prometheus' query API")
	errEmpty     = errors.New("the result is empty, which nullValues: Zero would count as 0")
	errNotNumber = errors.New("the result is NaN or infinite, which nullValues: Zero would count as 0")
	errSeveral   = errors.New("the result has several elements, not one: aggregate them, as with sum()")
	errPartial   = errors.New("the answer is partial: a part of the data could not be read")
	errTimestamp = errors.New("the timestamp of the result is not a time")
)

// answer is the JSON of the query API.
type answer struct {
	Status string `json:"status"`
	// IsPartial is a field of VictoriaMetrics. Warnings come from the storage, and include those of PromQL.
	IsPartial bool     `json:"isPartial"`
	Warnings  []string `json:"warnings"`
	Data      struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// element is an element of a vector.
type element struct {
	Value     json.RawMessage `json:"value"`
	Histogram json.RawMessage `json:"histogram"`
}

// read parses the body of a response that arrived at this time.
func read(body []byte, arrived time.Time) *result {
	at, value, err := valueOf(body)
	if at.IsZero() || at.After(arrived) {
		at = arrived
	}
	if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
		err = errNotNumber
	}
	if err != nil {
		return &result{at: at, err: err, isNull: errors.Is(err, errEmpty) || errors.Is(err, errNotNumber)}
	}
	return &result{series: []float64{value}, at: at}
}

func valueOf(body []byte) (at time.Time, value float64, err error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Status != "success" {
		return time.Time{}, 0, errNotJSON
	}
	if a.isPartial() {
		return time.Time{}, 0, errPartial
	}
	switch a.Data.ResultType {
	case "scalar":
		return pairOf(a.Data.Result)
	case "vector":
		return vectorOf(a.Data.Result)
	case "matrix", "string":
		return time.Time{}, 0, fmt.Errorf("the result is a %s, not a scalar or a vector with one element",
			a.Data.ResultType)
	default:
		return time.Time{}, 0, errNotJSON
	}
}

// missing are words of the warnings of Thanos, Prometheus with remote storage, Cortex and M3 that a part of the data is
// missing.
var missing = []string{
	"StoreAPI", "rpc error", "fetch series for", "receive series from", "remote read", "remote_read", "partial data",
	"partial response", "results not exhaustive",
}

// isPartial reports whether a part of the data is missing. Other warnings are annotations, such as those of PromQL on
// the input of a function, which name metrics: one may be called prometheus_remote_read_queries.
func (a *answer) isPartial() bool {
	return a.IsPartial || slices.ContainsFunc(a.Warnings, func(warning string) bool {
		return !strings.HasPrefix(warning, "PromQL ") && slices.ContainsFunc(missing, func(words string) bool {
			return strings.Contains(warning, words)
		})
	})
}

func vectorOf(text json.RawMessage) (at time.Time, value float64, err error) {
	// All elements of a large result would take eighty times its size.
	elements := json.NewDecoder(bytes.NewReader(text))
	if begin, err := elements.Token(); err != nil || begin != json.Delim('[') {
		// Null is not an empty result.
		return time.Time{}, 0, errNotJSON
	}
	if !elements.More() {
		return time.Time{}, 0, errEmpty
	}
	var first element
	switch err := elements.Decode(&first); {
	case err != nil:
		return time.Time{}, 0, errNotJSON
	case elements.More():
		return time.Time{}, 0, errSeveral
	case first.Value == nil && first.Histogram != nil:
		return time.Time{}, 0, errors.New("the result is a histogram, not a number")
	default:
		return pairOf(first.Value)
	}
}

// pairOf reads [timestamp, "value"].
func pairOf(text json.RawMessage) (at time.Time, value float64, err error) {
	var pair []json.RawMessage
	if json.Unmarshal(text, &pair) != nil || len(pair) != 2 {
		return time.Time{}, 0, errNotJSON
	}
	var seconds float64
	var number string
	if json.Unmarshal(pair[0], &seconds) != nil || json.Unmarshal(pair[1], &number) != nil {
		return time.Time{}, 0, errNotJSON
	}
	if value, err = strconv.ParseFloat(number, 64); err != nil {
		return time.Time{}, 0, errNotJSON
	}
	// The year 2286; a later time cannot be a number of seconds.
	const latest = 1e10
	if seconds <= 0 || seconds > latest {
		return time.Time{}, 0, errTimestamp
	}
	const millisPerSecond = 1000
	return time.UnixMilli(int64(math.Round(seconds * millisPerSecond))), value, nil
}
