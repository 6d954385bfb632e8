package fault

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

func TestLog(t *testing.T) {
	for want, err := range map[string]error{
		`"level":"error"`: errors.New("disk failed"),
		`"level":"debug"`: fmt.Errorf("user 7: %w: refused", storage.ErrUnavailable),
	} {
		var b bytes.Buffer
		log := zerolog.New(&b)
		Log(log, err).Err(err).Msg("x")
		if !strings.Contains(b.String(), want) || !strings.Contains(b.String(), err.Error()) {
			t.Errorf("%v is logged as %s, want %s", err, &b, want)
		}
	}
}
