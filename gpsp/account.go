package gpsp

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/storage"
)

// valid reports whether there is an account with an e-mail.
func (s *Server) valid(ctx context.Context, r *request, w *reply) error {
	partner, err := r.count("partnerid")
	if err != nil {
		return err
	}
	known := int64(1)
	if !r.live.Private {
		_, err := s.opt.Store.UserByEmail(ctx, partner, r.get("email"))
		switch {
		case errors.Is(err, storage.ErrNotFound):
			known = 0
		case err != nil:
			return err
		}
	}
	w.number("vr", known)
	return nil
}

// credentials checks e-mail and password of a request.
func (s *Server) credentials(ctx context.Context, r *request) (storage.UserID, error) {
	partner, err := r.count("partnerid")
	if err != nil {
		return 0, err
	}
	password, _, ok := r.Password()
	if !ok {
		return 0, accounts.ErrBadPassword
	}
	user, err := s.opt.Accounts.SignIn.CheckPassword(ctx, accounts.Credentials{
		Partner: partner, Email: r.get("email"), Password: password, From: r.from,
	})
	s.noteRefusal(r, err)
	return user, err
}

// nicks lists the profiles of an account to a client that sends its password, and
// none to others.
func (s *Server) nicks(ctx context.Context, r *request, w *reply) error {
	namespace, err := r.count("namespaceid")
	if err != nil {
		return err
	}
	user, err := s.credentials(ctx, r)
	_, refused := errors.AsType[accounts.Refusal](err)
	var profiles []storage.Profile
	switch {
	case refused:
	case err != nil:
		return err
	default:
		if profiles, err = s.opt.Store.ProfilesOf(ctx, user); err != nil {
			return err
		}
	}
	w.number("nr", int64(len(profiles)))
	for i := range profiles {
		w.text("nick", profiles[i].Nick)
		w.text("uniquenick", profiles[i].UniqueNickIn(namespace))
	}
	w.mark("ndone")
	return nil
}

// check reports whether an account has that password and that nick.
func (s *Server) check(ctx context.Context, r *request, w *reply) error {
	user, err := s.credentials(ctx, r)
	if err != nil {
		return refuse(err, checkCode(err, r.live.Private))
	}
	p, err := s.opt.Store.ProfileByNick(ctx, user, r.get("nick"))
	if errors.Is(err, storage.ErrNotFound) {
		return &refusal{code: codeCheckNick}
	}
	if err != nil {
		return err
	}
	w.number("cur", 0)
	w.number("pid", int64(p.ID))
	return nil
}

// newUser creates an account, or a profile of one.
func (s *Server) newUser(ctx context.Context, r *request, w *reply) error {
	reg, err := registrationOf(r)
	if err != nil {
		return err
	}
	p, err := s.opt.Accounts.Users.Register(ctx, reg)
	s.noteAccount(r, err)
	if taken, ok := errors.AsType[*accounts.NickTakenError](err); ok {
		w.number("nur", int64(codeNewUserNick))
		w.number("pid", int64(taken.Profile))
		return nil
	}
	if err != nil {
		return refuse(err, newUserCode(err))
	}
	if key := r.get("cdkey"); key != "" {
		s.registerCDKey(ctx, p.ID, r.get("gamename"), key)
	}
	w.number("nur", 0)
	w.number("pid", int64(p.ID))
	return nil
}

func registrationOf(r *request) (accounts.Registration, error) {
	partner, err := r.count("partnerid")
	if err != nil {
		return accounts.Registration{}, err
	}
	namespace, err := r.count("namespaceid")
	if err != nil {
		return accounts.Registration{}, err
	}
	password, _, ok := r.Password()
	if !ok {
		return accounts.Registration{}, &refusal{code: codeNewUserPass}
	}
	return accounts.Registration{
		Partner: partner, Namespace: namespace, Email: r.get("email"), Nick: r.get("nick"),
		UniqueNick: r.get("uniquenick"), Password: password, From: r.from,
	}, nil
}

// registerCDKey registers a key that came with a registration. The account is
// there already, and the client has no word for a key that was not accepted.
func (s *Server) registerCDKey(ctx context.Context, id storage.ProfileID, game, key string) {
	err := s.opt.Accounts.Profiles.RegisterCDKey(ctx, id, game, key)
	if err == nil {
		return
	}
	level := fault.Log(s.opt.Log, err)
	if _, refused := errors.AsType[accounts.Refusal](err); refused {
		level = s.opt.Log.Debug()
	}
	level.Uint32("profile", uint32(id)).Err(err).Msg("CD key of a new account not registered")
}

// refuse turns a refusal of package accounts into one with a code; other errors
// are returned unchanged.
func refuse(err error, c code) error {
	if r, ok := errors.AsType[accounts.Refusal](err); ok {
		return &refusal{c, r.Error()}
	}
	return err
}
