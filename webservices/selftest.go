package webservices

import (
	"context"
	"fmt"
	"net/http"

	"github.com/respawnd/respawnd/internal/service"
)

// steps are the steps of the self-test.
func steps() []service.Step {
	return []service.Step{{Name: "webservices", Needs: []string{name}, Order: service.OrderAlone, Run: check}}
}

// check sends a request for a path that does not exist.
func check(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.Address(name)+"/selftest", http.NoBody)
	if err != nil {
		return err
	}
	r.Host = t.Game + ".auth.pubsvs." + t.Domain
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusNotFound {
		return fmt.Errorf("the answer has status %d", answer.StatusCode)
	}
	return nil
}
