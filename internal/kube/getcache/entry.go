package getcache

import "time"

// entry is an object. The lock of the Cache guards it.
type entry[V any] struct {
	// value is the object in the API server's last response, to a request at confirmed. There may be none.
	value    V
	hasValue bool
	// bytes is the value's size by Config.Bytes.
	bytes     int
	confirmed time.Time
	// tried is the end of the last read, err its error.
	tried time.Time
	err   error
	// reading is closed at the end of the read that is running or queued; nil without one.
	reading chan struct{}
	// used is the last Get.
	used time.Time
}

// result returns the value, or the error in place of one.
func (e *entry[V]) result() (V, error) {
	switch {
	case e.hasValue:
		return e.value, nil
	case e.err != nil:
		return e.value, e.err
	default:
		return e.value, errLimited
	}
}

func (e *entry[V]) isDue(now time.Time, config *Config[V]) bool {
	age := config.Age
	if e.err != nil {
		age = config.FailureAge
	}
	return e.reading == nil && (e.tried.IsZero() || now.Sub(e.tried) >= age)
}

// isUsable reports whether the result is usable without waiting for a read. A recent failure counts: the API server
// probably still does not respond.
func (e *entry[V]) isUsable(now time.Time, config *Config[V]) bool {
	switch {
	case e.hasValue && e.err == nil:
		return now.Sub(e.confirmed) < config.Age+config.Age/2
	case e.hasValue:
		return now.Sub(e.tried) < config.FailureAge+2*timeout
	default:
		return e.err != nil && now.Sub(e.tried) < config.FailureAge
	}
}

func (e *entry[V]) isIdle(now time.Time, config *Config[V]) bool {
	unused := config.FailureAge
	if e.hasValue {
		unused = MaxUnconfirmed
	}
	return e.reading == nil && now.Sub(e.used) >= unused
}

// expire drops a value that was not confirmed for too long.
func (e *entry[V]) expire(now time.Time) {
	if e.hasValue && now.Sub(e.confirmed) >= MaxUnconfirmed {
		e.drop()
	}
}

// end is called at the end of a read.
func (e *entry[V]) end(now time.Time, err error) {
	e.tried, e.err = now, err
	if err != nil && isAnswer(err) {
		e.drop()
	}
	close(e.reading)
	e.reading = nil
}

func (e *entry[V]) drop() { e.value, e.hasValue = *new(V), false }
