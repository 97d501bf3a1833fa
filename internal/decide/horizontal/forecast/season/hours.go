package season

import "math"

const (
	// hoursMinutes is the number of places of Hours.
	hoursMinutes = 2 * 60
	// hoursWeight is the part of an error by which a place is corrected. There are twelve errors a day.
	hoursWeight = 0.2
)

// Hours models a load that recurs every two hours, or each hour, perhaps not in all of them: it learns twelve times a
// day what a Model learns once. The zero value has learnt nothing.
type Hours struct {
	// Level is added to each place.
	Level   float64
	Places  [hoursMinutes]float32
	IsBegun bool
}

// Learn records the mean load of a minute, as Model.Learn does.
func (h *Hours) Learn(minute int64, load float64, isAtLeast bool) {
	if !h.IsBegun {
		h.Level, h.IsBegun = load, true
	}
	place := h.place(minute)
	missing := load - h.Level - float64(*place)
	if isAtLeast && missing < 0 {
		return
	}
	h.Level += levelWeight * missing
	*place += hoursWeight * float32(load-h.Level-float64(*place))
}

// Peak returns the most that the model expects in the minutes after a minute.
func (h *Hours) Peak(minute int64, ahead int) (most float64) {
	for k := 1; k <= ahead; k++ {
		most = max(most, h.Level+float64(*h.place(minute + int64(k))))
	}
	return most
}

// Scale multiplies all that was learnt.
func (h *Hours) Scale(factor float64) {
	h.Level *= factor
	for i := range h.Places {
		h.Places[i] *= float32(factor)
	}
}

// IsValid reports whether the numbers can be computed with.
func (h *Hours) IsValid() bool {
	isFine := math.Abs(h.Level) <= mostLoad
	for _, v := range h.Places {
		isFine = isFine && math.Abs(float64(v)) <= mostLoad
	}
	return isFine
}

func (h *Hours) place(minute int64) *float32 { return &h.Places[place(minute)%hoursMinutes] }
