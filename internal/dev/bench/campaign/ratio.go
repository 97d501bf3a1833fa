package campaign

import "math"

// Judged are the names of the columns whose sums are compared with recorded ones.
func Judged() []string {
	return []string{shortColumn, lackingColumn, podHoursColumn, actionsColumn, overshootColumn}
}

// Ratio is Plimsoll's sum in parts of upstream's, and the standard error that chance gives it.
type Ratio struct{ Ratio, Error float64 }

// Ratio is that of a column's sums R = sum(o)/sum(u). Each case has n seeds. With d = o - R*u and the variance s² of
// each case's d over its seeds, the standard error is sqrt(sum(n*s²))/sum(u); NaN with one seed.
func (r *Results) Ratio(name string) Ratio {
	c, n := columnOf(name), len(r.Seeds)
	theirs, ours := c.values(r.of(upstream.Name, "")), c.values(r.of(plimsoll.Name, ""))
	sum := mean(theirs) * float64(len(theirs))
	q := Ratio{Ratio: mean(ours) / mean(theirs)}
	variance := 0.0
	for i := 0; i < len(ours); i += n {
		scaled := make([]float64, n)
		for k := range scaled {
			scaled[k] = q.Ratio * theirs[i+k]
		}
		_, standardError := difference(ours[i:i+n], scaled)
		// The standard error of the mean is sqrt(s²/n).
		variance += float64(n*n) * standardError * standardError
	}
	q.Error = math.Sqrt(variance) / sum
	return q
}
