package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/storage"
)

// NewRecording is what is recorded.
type NewRecording struct {
	Game    string     `json:"game" arg:"GAME"`
	Address netip.Addr `json:"address" arg:"ADDRESS" doc:"an IP address"`
	// Until is when it ends at the latest; zero: after dialogue.Longest.
	Until time.Time `json:"until,omitzero" flag:"for" doc:"how long, such as 2m; at most 10m, which is the default"`
}

// Record writes what a player's address and the services say to each other, as lines of JSON, see
// package dialogue. storage.ErrConflict: another recording is being made.
var Record = NewStream(Operation{
	Name: "record", Route: "POST /recordings", What: "Record what a player's address and the services say to each other, without secrets",
	Type: "application/jsonl",
}, func(ctx context.Context, l *Local, in NewRecording, w io.Writer) (leftOut int, err error) {
	if l.Recorder == nil {
		return 0, ErrNotRunning
	}
	if _, known := l.Catalogue.Catalog().Lookup(in.Game); !known {
		return 0, fmt.Errorf("%w: there is no game %q", ErrBadRequest, in.Game)
	}
	if !in.Address.IsValid() {
		return 0, fmt.Errorf("%w: the address of the player is missing", ErrBadRequest)
	}
	span := dialogue.Longest
	if !in.Until.IsZero() {
		span = time.Until(in.Until)
	}
	// The clocks of the command and of the daemon may differ a little.
	if span <= 0 || span > dialogue.Longest+time.Minute {
		return 0, fmt.Errorf("%w: a recording takes up to %v", ErrBadRequest, dialogue.Longest)
	}
	if err := addAudit(ctx, l, 0, in.Address.String(), in.Game); err != nil {
		return 0, err
	}
	err = l.Recorder.Record(ctx, in.Game, in.Address, span, w)
	if errors.Is(err, dialogue.ErrBusy) {
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	return 0, err
})
