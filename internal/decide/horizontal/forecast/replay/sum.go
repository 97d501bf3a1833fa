package replay

// WastedPercent returns what is wasted, in percent of the pod-minutes that there are without the forecast.
func (d *Day) WastedPercent() float64 {
	if d.Paid <= 0 {
		return 0
	}
	return 100 * d.Wasted / d.Paid
}

// Sum returns all days together.
func Sum(days []Day) (sum Day) {
	for i := range days {
		d := &days[i]
		sum.KnownMinutes += d.KnownMinutes
		sum.RaisedMinutes += d.RaisedMinutes
		sum.Lacking += d.Lacking
		sum.Avoided += d.Avoided
		sum.Wasted += d.Wasted
		sum.Paid += d.Paid
		sum.MostReplicas = max(sum.MostReplicas, d.MostReplicas)
	}
	return sum
}
