package storagetest

import (
	"context"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// postCalls is every method of messages in chats.
func postCalls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Post":    func(ctx context.Context) error { return errOf(s.Post(ctx, "one")) },
		"PutPost": func(ctx context.Context) error { return s.PutPost(ctx, "late", "7") },
	}
}

func postTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"put, replace":                          testPostLife,
		"records beyond the limits are refused": testPostLimits,
	}
}

func testPostLife(t *testing.T, s storage.Store) {
	_, err := s.Post(t.Context(), "one")
	wantErr(t, err, storage.ErrNotFound, "Post()")
	for _, want := range []string{"7", "1442153289410674718"} {
		noErr(t, s.PutPost(t.Context(), "one", want), "PutPost", want)
		noErr(t, s.PutPost(t.Context(), "two", "2"), "PutPost")
		differ(t, "Post()", must(s.Post(t.Context(), "one"))(t), want)
	}
}

func testPostLimits(t *testing.T, s storage.Store) {
	place, id := strings.Repeat("p", 64), strings.Repeat("9", 20)
	noErr(t, s.PutPost(t.Context(), place, id), "PutPost")
	for _, bad := range [][2]string{{"", id}, {place + "p", id}, {place, ""}, {place, id + "9"}, {place, "1/../2"}} {
		wantErr(t, s.PutPost(t.Context(), bad[0], bad[1]), storage.ErrInvalid, "PutPost(%q)", bad)
	}
	differ(t, "Post()", must(s.Post(t.Context(), place))(t), id)
}
