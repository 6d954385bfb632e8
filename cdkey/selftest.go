package cdkey

import (
	"context"
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/service"
)

// selfTestProduct is a product that no game has.
const selfTestProduct = 1 << 29

// check checks a key. A service in strict mode refuses it, which passes too.
func check(ctx context.Context, t *service.Trial) error {
	c, err := Dial(ctx, t.Address("cdkey"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	err = c.Auth(selfTestProduct, "SELF-TEST", time.Now().Add(service.StepTimeout))
	if errors.Is(err, ErrRefused) {
		return nil
	}
	return err
}
