package gpcm

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

var _ = verdicts.Speak("gpcm", verdicts.Speaker{What: "sign-in", Player: true, Texts: verdicts.SignInTexts})

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Sign-in, buddies, messages", Nouns: []noun.Noun{noun.Accounts, noun.Names}, Docs: []string{"protocols/gpcm", "protocols/battlefield2"}, Sessions: c.MaxConns,
		Plays: []service.Play{{Service: "gpcm", Network: "TCP", Order: service.PlayMeets, Means: "you cannot sign in", Run: greet}},
		// What players write to each other is not for the file either.
		Dialogue: dialogue.Pairs("response", "proof", "user", "authtoken", "partnerchallenge", "lt", "ticket", "loginticket", "lkey", "sig",
			"email", "password", "pass", "passenc", "passwordenc", "cdkey", "cdkeyenc", "msg"),
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Store: env.Store, Accounts: env.Accounts, Hub: env.Hub, Games: env.Games, Cluster: env.Cluster,
	})
	r, err := service.OpenConns(ctx, c.Listen, s)
	if err != nil {
		return nil, err
	}
	unfollow, closeSocket := s.follow(), r.Close
	r.Close = func() error {
		unfollow()
		return closeSocket()
	}
	r.Reload = func(to service.Service) {
		c := to.(*Config)
		env.Hub.SetMaxSessions(c.MaxConns)
		s.Reload(c)
	}
	return r, nil
}
