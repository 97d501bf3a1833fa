package disruption

import (
	"encoding/json"
	"time"
)

// bucketJSON is the stored form of a Bucket.
type bucketJSON struct {
	PerSecond float64   `json:"perSecond"`
	Burst     int       `json:"burst"`
	Tokens    float64   `json:"tokens"`
	At        time.Time `json:"at,omitzero"`
}

// MarshalJSON writes the whole bucket.
func (b Bucket) MarshalJSON() ([]byte, error) {
	return json.Marshal(bucketJSON{PerSecond: b.perSecond, Burst: b.burst, Tokens: b.tokens, At: b.at})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bucket) UnmarshalJSON(text []byte) error {
	var w bucketJSON
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*b = Bucket{perSecond: w.PerSecond, burst: w.Burst, tokens: w.Tokens, at: w.At}
	return nil
}
