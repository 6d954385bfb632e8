package a2s

import "testing"

func TestChallengesAreAppendedToInfoRequests(t *testing.T) {
	e := NewExchange(InfoRequest, Known{})
	if step, err := e.Take(AppendChallenge(nil, 0xEA5E080A)); step != Ask || err != nil {
		t.Fatalf("Take(challenge) = %d, %v, want Ask", step, err)
	}
	const want = "\xFF\xFF\xFF\xFFTSource Engine Query\x00\x0A\x08\x5E\xEA"
	if got := string(e.Question()); got != want {
		t.Errorf("Question() = %q, want %q", got, want)
	}
	info := Info{Name: "x", AppID: 240}
	if step, err := e.Take(AppendInfo(nil, info)); step != Done || err != nil || e.Answer().Info != info {
		t.Errorf("Take(info) = %d, %v, answer %+v", step, err, e.Answer())
	}
}
