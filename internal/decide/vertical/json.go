package vertical

import "encoding/json"

// written is the stored form of amounts: {"cpu": thousandths, "memory": bytes}.
type written struct {
	CPU    *Amount `json:"cpu,omitempty"`
	Memory *Amount `json:"memory,omitempty"`
}

// MarshalJSON writes the amounts that are set.
func (a Amounts) MarshalJSON() ([]byte, error) {
	var w written
	if amount, ok := a.Get(CPU); ok {
		w.CPU = &amount
	}
	if amount, ok := a.Get(Memory); ok {
		w.Memory = &amount
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Amounts) UnmarshalJSON(text []byte) error {
	var w written
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*a = Amounts{}
	if w.CPU != nil {
		*a = a.With(CPU, *w.CPU)
	}
	if w.Memory != nil {
		*a = a.With(Memory, *w.Memory)
	}
	return nil
}
