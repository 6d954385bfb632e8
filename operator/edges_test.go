package operator

import (
	"errors"
	"strings"
	"testing"
)

func TestChatTextLimit(t *testing.T) {
	for n, want := range map[int]error{0: ErrBadRequest, 1: nil, maxChatText: nil, maxChatText + 1: ErrBadRequest} {
		if err := checkChatText("text", strings.Repeat("x", n)); !errors.Is(err, want) {
			t.Errorf("text of %d bytes: %v, want %v", n, err, want)
		}
	}
}
