package webservices

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"math/big"

	"github.com/respawnd/respawnd/internal/service"
)

// steps are the steps of the self-test.
func steps() []service.Step {
	return []service.Step{
		{Name: "webservices sign-in", Needs: []string{name}, Order: service.OrderAlone, Run: check},
		{Name: "webservices files", Needs: []string{name}, Order: service.OrderAlone, Run: checkPages},
	}
}

// check signs in with a name that no player has, and a key that is not that of the
// service. The refusal passes.
func check(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	c := &Client{Address: t.Address(name), Host: t.Game + ".auth.pubsvs." + t.Domain}
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 1023))
	if err != nil {
		return err
	}
	key := &rsa.PublicKey{N: n.SetBit(n.SetBit(n, 1023, 1), 0, 1), E: 65537}
	_, _, err = c.SignIn(ctx, key, "selftest-player", "selftest")
	if errors.Is(err, ErrSignIn) {
		return nil
	}
	if err == nil {
		return errors.New("a player that does not exist was signed in")
	}
	return err
}
