package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/storage"
)

const (
	// statusEvery is the time before the first edit of a status message and between two.
	statusEvery = time.Minute
	// statusAgain is when a message is edited although nothing changed: its readers see by its
	// time that the daemon still runs.
	statusAgain = 10 * time.Minute
	// maxMessage is how much is read of Discord's answer with a message.
	maxMessage = 256 << 10
)

// unknownMessage is Discord's code of an error about a message that was deleted, see StatusError.
const unknownMessage = 10008

// errWebhookGone means that a hook must not be called again: the chat restricts the addresses of
// programs that do.
var errWebhookGone = errors.New("the chat does not know the webhook: make another one and change its url")

// board keeps the status message of one hook: one message that is edited in place.
type board struct {
	*worker
	dispatcher *Dispatcher
	place      string // of the message, in the store
	shown      string // the text of the last edit
	edited     time.Time
	unsaved    string // number of a message that the store did not take yet
	failing    bool   // the last attempt failed
}

// runBoard edits the status message of the worker's hook until ctx ends.
func (d *Dispatcher) runBoard(ctx context.Context, w *worker) {
	digest := sha256.Sum256([]byte(w.sender.hook.Name + "\n" + w.sender.hook.URL)) // the URL is secret
	b := &board{worker: w, dispatcher: d, place: hex.EncodeToString(digest[:])}
	for wait := statusEvery; ctx.Err() == nil; {
		clock.Pause(ctx, wait)
		wait = statusEvery
		if ctx.Err() != nil || !d.mine("board/"+b.place) {
			continue
		}
		err := b.update(ctx, time.Now())
		switch e, ok := errors.AsType[*StatusError](err); {
		case errors.Is(err, errWebhookGone):
			b.log.Warn().Err(err).Msg("webhook gave up its status message")
			return
		case err != nil && ctx.Err() == nil:
			if !b.failing {
				b.log.Warn().Err(err).Msg("status message not edited; trying again every minute")
			}
			if ok {
				wait = max(wait, e.After)
			}
		}
		b.failing = err != nil
	}
}

// update edits the message if its text changed, or if it is old. A message that was deleted is
// posted again.
func (b *board) update(ctx context.Context, now time.Time) error {
	e := b.dispatcher.statusEmbed(b.sender.hook)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if string(text) == b.shown && now.Sub(b.edited) < statusAgain {
		return nil
	}
	e.Timestamp = now.UTC().Format(time.RFC3339)
	body, err := json.Marshal(statusMessage{Embeds: []embed{e}, Mentions: mentions{Parse: []string{}}})
	if err != nil {
		return err
	}
	err = b.edit(ctx, body)
	if err != nil {
		b.metrics.failed.Inc()
		return err
	}
	b.metrics.delivered.Inc()
	b.shown, b.edited = string(text), now
	return nil
}

// edit changes the message that the store knows, or posts one.
func (b *board) edit(ctx context.Context, body []byte) error {
	posts := b.dispatcher.opt.Posts
	if b.unsaved != "" {
		if err := posts.PutPost(ctx, b.place, b.unsaved); err != nil {
			return err // rather than to post one more
		}
		b.unsaved = ""
	}
	id, err := posts.Post(ctx, b.place)
	switch {
	case err == nil:
		_, err = b.request(ctx, http.MethodPatch, "/messages/"+id, body)
		if e, ok := errors.AsType[*StatusError](err); !ok || e.Status != http.StatusNotFound || e.Code != unknownMessage {
			return err
		}
	case !errors.Is(err, storage.ErrNotFound):
		return err
	}
	answer, err := b.request(ctx, http.MethodPost, "", body)
	if err != nil {
		return err
	}
	var posted struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(answer, &posted); err != nil {
		return errors.New("the chat does not say which message it made")
	}
	if err = posts.PutPost(ctx, b.place, posted.ID); err != nil {
		b.unsaved = posted.ID
	}
	return err
}

// request calls an address below the hook's own. The thread in its query stays.
func (b *board) request(ctx context.Context, method, below string, body []byte) ([]byte, error) {
	u, err := url.Parse(b.sender.hook.URL)
	if err != nil {
		return nil, errNoAddress
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+below, ""
	query := u.Query()
	if method == http.MethodPost {
		query.Set("wait", "true") // for the answer to have the message
	}
	u.RawQuery = query.Encode()
	answer, err := b.sender.do(ctx, method, u.String(), http.Header{}, body, maxMessage)
	if e, ok := errors.AsType[*StatusError](err); ok {
		var reason struct {
			Code int `json:"code"`
		}
		_ = json.Unmarshal(answer, &reason) // without a code it stays 0
		e.Code = reason.Code
		if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound && e.Code != unknownMessage {
			return nil, errWebhookGone
		}
	}
	return answer, err
}
