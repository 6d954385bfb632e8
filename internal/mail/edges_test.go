package mail

import (
	"strings"
	"testing"
	"time"
)

func TestMessageLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		subject, text int
		ok            bool
	}{
		"longest":           {maxSubject, maxText, true},
		"subject too long":  {maxSubject + 1, 1, false},
		"text too long":     {1, maxText + 1, false},
		"without a subject": {0, 1, true},
	} {
		m := Message{To: "a@example.org", Subject: strings.Repeat("s", tc.subject), Text: strings.Repeat("t", tc.text)}
		if _, _, err := m.render("b@example.org", time.Unix(0, 0)); (err == nil) != tc.ok {
			t.Errorf("%s: render: %v", name, err)
		}
	}
}
