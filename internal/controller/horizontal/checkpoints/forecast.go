package checkpoints

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"

// MoreLearnt is the forecast to go on with: what was saved, unless more has been learnt since. What was learnt since
// may be nil.
func MoreLearnt(encoded []byte, since *forecast.State) (*forecast.State, error) {
	saved := forecast.New()
	if err := saved.UnmarshalBinary(encoded); err != nil {
		return since, err
	}
	if saved.KnowsMore(since) {
		return saved, nil
	}
	return since, nil
}
