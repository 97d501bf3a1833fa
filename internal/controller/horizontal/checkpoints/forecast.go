package checkpoints

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"

// MoreLearnt returns the forecast to continue with: the saved one, unless since has learnt more. since may be nil.
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
