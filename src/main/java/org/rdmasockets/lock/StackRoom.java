package org.rdmasockets.lock;

/**
 * Room on the stack of a caller, asked for before anything is taken or changed: a {@code StackOverflowError} is thrown
 * here, where it costs nothing, or not before the call has used up what was asked for. So no lock stays behind, and
 * nobody's completions are lost, however deep a caller has come.
 *
 * <p>Java cannot ask how much is left. But HotSpot checks, whenever a method is entered, that the frame fits which the
 * interpreter would need for it, also in code of both compilers, which may have to go back to the interpreter there.
 * {@link #ensure} has {@value #BYTES} bytes of local variables that are never used: compiled, that is a store to each
 * of eight pages; interpreted, it takes a microsecond.
 */
public final class StackRoom {
    /** The room that is ensured: about 250 frames of the interpreter. */
    static final int BYTES = 32 * 1024;

    /** Never true, but no constant: a branch that can be left out has no variables. */
    private static boolean never;

    private StackRoom() {}

    /** Ensures that what the caller calls next has room. Call it first of all, without locks. */
    public static void ensure() {
        if (never) {
            // 2,048 variables of 16 bytes.
            long aa, ab, ac, ad, ae, af, ag, ah, ai, aj, ak, al, am, an, ao, ap, aq, ar, as, at, au, av, aw, ax, ay,
                    az, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, ba, bb, bc, bd, be, bf, bg, bh, bi, bj, bk, bl, bm,
                    bn, bo, bp, bq, br, bs, bt, bu, bv, bw, bx, by, bz, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, ca,
                    cb, cc, cd, ce, cf, cg, ch, ci, cj, ck, cl, cm, cn, co, cp, cq, cr, cs, ct, cu, cv, cw, cx, cy,
                    cz, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, da, db, dc, dd, de, df, dg, dh, di, dj, dk, dl, dm,
                    dn, dp, dq, dr, ds, dt, du, dv, dw, dx, dy, dz, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, ea, eb,
                    ec, ed, ee, ef, eg, eh, ei, ej, ek, el, em, en, eo, ep, eq, er, es, et, eu, ev, ew, ex, ey, ez,
                    e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, fa, fb, fc, fd, fe, ff, fg, fh, fi, fj, fk, fl, fm, fn,
                    fo, fp, fq, fr, fs, ft, fu, fv, fw, fx, fy, fz, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, ga, gb,
                    gc, gd, ge, gf, gg, gh, gi, gj, gk, gl, gm, gn, go, gp, gq, gr, gs, gt, gu, gv, gw, gx, gy, gz,
                    g0, g1, g2, g3, g4, g5, g6, g7, g8, g9, ha, hb, hc, hd, he, hf, hg, hh, hi, hj, hk, hl, hm, hn,
                    ho, hp, hq, hr, hs, ht, hu, hv, hw, hx, hy, hz, h0, h1, h2, h3, h4, h5, h6, h7, h8, h9, ia, ib,
                    ic, id, ie, ig, ih, ii, ij, ik, il, im, in, io, ip, iq, ir, is, it, iu, iv, iw, ix, iy, iz, i0,
                    i1, i2, i3, i4, i5, i6, i7, i8, i9, ja, jb, jc, jd, je, jf, jg, jh, ji, jj, jk, jl, jm, jn, jo,
                    jp, jq, jr, js, jt, ju, jv, jw, jx, jy, jz, j0, j1, j2, j3, j4, j5, j6, j7, j8, j9, ka, kb, kc,
                    kd, ke, kf, kg, kh, ki, kj, kk, kl, km, kn, ko, kp, kq, kr, ks, kt, ku, kv, kw, kx, ky, kz, k0,
                    k1, k2, k3, k4, k5, k6, k7, k8, k9, la, lb, lc, ld, le, lf, lg, lh, li, lj, lk, ll, lm, ln, lo,
                    lp, lq, lr, ls, lt, lu, lv, lw, lx, ly, lz, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, ma, mb, mc,
                    md, me, mf, mg, mh, mi, mj, mk, ml, mm, mn, mo, mp, mq, mr, ms, mt, mu, mv, mw, mx, my, mz, m0,
                    m1, m2, m3, m4, m5, m6, m7, m8, m9, na, nb, nc, nd, ne, nf, ng, nh, ni, nj, nk, nl, nm, nn, no,
                    np, nq, nr, ns, nt, nu, nv, nw, nx, ny, nz, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, oa, ob, oc,
                    od, oe, of, og, oh, oi, oj, ok, ol, om, on, oo, op, oq, or, os, ot, ou, ov, ow, ox, oy, oz, o0,
                    o1, o2, o3, o4, o5, o6, o7, o8, o9, pa, pb, pc, pd, pe, pf, pg, ph, pi, pj, pk, pl, pm, pn, po,
                    pp, pq, pr, ps, pt, pu, pv, pw, px, py, pz, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, qa, qb, qc,
                    qd, qe, qf, qg, qh, qi, qj, qk, ql, qm, qn, qo, qp, qq, qr, qs, qt, qu, qv, qw, qx, qy, qz, q0,
                    q1, q2, q3, q4, q5, q6, q7, q8, q9, ra, rb, rc, rd, re, rf, rg, rh, ri, rj, rk, rl, rm, rn, ro,
                    rp, rq, rr, rs, rt, ru, rv, rw, rx, ry, rz, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, sa, sb, sc,
                    sd, se, sf, sg, sh, si, sj, sk, sl, sm, sn, so, sp, sq, sr, ss, st, su, sv, sw, sx, sy, sz, s0,
                    s1, s2, s3, s4, s5, s6, s7, s8, s9, ta, tb, tc, td, te, tf, tg, th, ti, tj, tk, tl, tm, tn, to,
                    tp, tq, tr, ts, tt, tu, tv, tw, tx, ty, tz, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, ua, ub, uc,
                    ud, ue, uf, ug, uh, ui, uj, uk, ul, um, un, uo, up, uq, ur, us, ut, uu, uv, uw, ux, uy, uz, u0,
                    u1, u2, u3, u4, u5, u6, u7, u8, u9, va, vb, vc, vd, ve, vf, vg, vh, vi, vj, vk, vl, vm, vn, vo,
                    vp, vq, vr, vs, vt, vu, vv, vw, vx, vy, vz, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, wa, wb, wc,
                    wd, we, wf, wg, wh, wi, wj, wk, wl, wm, wn, wo, wp, wq, wr, ws, wt, wu, wv, ww, wx, wy, wz, w0,
                    w1, w2, w3, w4, w5, w6, w7, w8, w9, xa, xb, xc, xd, xe, xf, xg, xh, xi, xj, xk, xl, xm, xn, xo,
                    xp, xq, xr, xs, xt, xu, xv, xw, xx, xy, xz, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, ya, yb, yc,
                    yd, ye, yf, yg, yh, yi, yj, yk, yl, ym, yn, yo, yp, yq, yr, ys, yt, yu, yv, yw, yx, yy, yz, y0,
                    y1, y2, y3, y4, y5, y6, y7, y8, y9, za, zb, zc, zd, ze, zf, zg, zh, zi, zj, zk, zl, zm, zn, zo,
                    zp, zq, zr, zs, zt, zu, zv, zw, zx, zy, zz, z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, aaa, aab,
                    aac, aad, aae, aaf, aag, aah, aai, aaj, aak, aal, aam, aan, aao, aap, aaq, aar, aas, aat, aau,
                    aav, aaw, aax, aay, aaz, aa0, aa1, aa2, aa3, aa4, aa5, aa6, aa7, aa8, aa9, aba, abb, abc, abd,
                    abe, abf, abg, abh, abi, abj, abk, abl, abm, abn, abo, abp, abq, abr, abs, abt, abu, abv, abw,
                    abx, aby, abz, ab0, ab1, ab2, ab3, ab4, ab5, ab6, ab7, ab8, ab9, aca, acb, acc, acd, ace, acf,
                    acg, ach, aci, acj, ack, acl, acm, acn, aco, acp, acq, acr, acs, act, acu, acv, acw, acx, acy,
                    acz, ac0, ac1, ac2, ac3, ac4, ac5, ac6, ac7, ac8, ac9, ada, adb, adc, add, ade, adf, adg, adh,
                    adi, adj, adk, adl, adm, adn, ado, adp, adq, adr, ads, adt, adu, adv, adw, adx, ady, adz, ad0,
                    ad1, ad2, ad3, ad4, ad5, ad6, ad7, ad8, ad9, aea, aeb, aec, aed, aee, aef, aeg, aeh, aei, aej,
                    aek, ael, aem, aen, aeo, aep, aeq, aer, aes, aet, aeu, aev, aew, aex, aey, aez, ae0, ae1, ae2,
                    ae3, ae4, ae5, ae6, ae7, ae8, ae9, afa, afb, afc, afd, afe, aff, afg, afh, afi, afj, afk, afl,
                    afm, afn, afo, afp, afq, afr, afs, aft, afu, afv, afw, afx, afy, afz, af0, af1, af2, af3, af4,
                    af5, af6, af7, af8, af9, aga, agb, agc, agd, age, agf, agg, agh, agi, agj, agk, agl, agm, agn,
                    ago, agp, agq, agr, ags, agt, agu, agv, agw, agx, agy, agz, ag0, ag1, ag2, ag3, ag4, ag5, ag6,
                    ag7, ag8, ag9, aha, ahb, ahc, ahd, ahe, ahf, ahg, ahh, ahi, ahj, ahk, ahl, ahm, ahn, aho, ahp,
                    ahq, ahr, ahs, aht, ahu, ahv, ahw, ahx, ahy, ahz, ah0, ah1, ah2, ah3, ah4, ah5, ah6, ah7, ah8,
                    ah9, aia, aib, aic, aid, aie, aif, aig, aih, aii, aij, aik, ail, aim, ain, aio, aip, aiq, air,
                    ais, ait, aiu, aiv, aiw, aix, aiy, aiz, ai0, ai1, ai2, ai3, ai4, ai5, ai6, ai7, ai8, ai9, aja,
                    ajb, ajc, ajd, aje, ajf, ajg, ajh, aji, ajj, ajk, ajl, ajm, ajn, ajo, ajp, ajq, ajr, ajs, ajt,
                    aju, ajv, ajw, ajx, ajy, ajz, aj0, aj1, aj2, aj3, aj4, aj5, aj6, aj7, aj8, aj9, aka, akb, akc,
                    akd, ake, akf, akg, akh, aki, akj, akk, akl, akm, akn, ako, akp, akq, akr, aks, akt, aku, akv,
                    akw, akx, aky, akz, ak0, ak1, ak2, ak3, ak4, ak5, ak6, ak7, ak8, ak9, ala, alb, alc, ald, ale,
                    alf, alg, alh, ali, alj, alk, all, alm, aln, alo, alp, alq, alr, als, alt, alu, alv, alw, alx,
                    aly, alz, al0, al1, al2, al3, al4, al5, al6, al7, al8, al9, ama, amb, amc, amd, ame, amf, amg,
                    amh, ami, amj, amk, aml, amm, amn, amo, amp, amq, amr, ams, amt, amu, amv, amw, amx, amy, amz,
                    am0, am1, am2, am3, am4, am5, am6, am7, am8, am9, ana, anb, anc, and, ane, anf, ang, anh, ani,
                    anj, ank, anl, anm, ann, ano, anp, anq, anr, ans, ant, anu, anv, anw, anx, any, anz, an0, an1,
                    an2, an3, an4, an5, an6, an7, an8, an9, aoa, aob, aoc, aod, aoe, aof, aog, aoh, aoi, aoj, aok,
                    aol, aom, aon, aoo, aop, aoq, aor, aos, aot, aou, aov, aow, aox, aoy, aoz, ao0, ao1, ao2, ao3,
                    ao4, ao5, ao6, ao7, ao8, ao9, apa, apb, apc, apd, ape, apf, apg, aph, api, apj, apk, apl, apm,
                    apn, apo, app, apq, apr, aps, apt, apu, apv, apw, apx, apy, apz, ap0, ap1, ap2, ap3, ap4, ap5,
                    ap6, ap7, ap8, ap9, aqa, aqb, aqc, aqd, aqe, aqf, aqg, aqh, aqi, aqj, aqk, aql, aqm, aqn, aqo,
                    aqp, aqq, aqr, aqs, aqt, aqu, aqv, aqw, aqx, aqy, aqz, aq0, aq1, aq2, aq3, aq4, aq5, aq6, aq7,
                    aq8, aq9, ara, arb, arc, ard, are, arf, arg, arh, ari, arj, ark, arl, arm, arn, aro, arp, arq,
                    arr, ars, art, aru, arv, arw, arx, ary, arz, ar0, ar1, ar2, ar3, ar4, ar5, ar6, ar7, ar8, ar9,
                    asa, asb, asc, asd, ase, asf, asg, ash, asi, asj, ask, asl, asm, asn, aso, asp, asq, asr, ass,
                    ast, asu, asv, asw, asx, asy, asz, as0, as1, as2, as3, as4, as5, as6, as7, as8, as9, ata, atb,
                    atc, atd, ate, atf, atg, ath, ati, atj, atk, atl, atm, atn, ato, atp, atq, atr, ats, att, atu,
                    atv, atw, atx, aty, atz, at0, at1, at2, at3, at4, at5, at6, at7, at8, at9, aua, aub, auc, aud,
                    aue, auf, aug, auh, aui, auj, auk, aul, aum, aun, auo, aup, auq, aur, aus, aut, auu, auv, auw,
                    aux, auy, auz, au0, au1, au2, au3, au4, au5, au6, au7, au8, au9, ava, avb, avc, avd, ave, avf,
                    avg, avh, avi, avj, avk, avl, avm, avn, avo, avp, avq, avr, avs, avt, avu, avv, avw, avx, avy,
                    avz, av0, av1, av2, av3, av4, av5, av6, av7, av8, av9, awa, awb, awc, awd, awe, awf, awg, awh,
                    awi, awj, awk, awl, awm, awn, awo, awp, awq, awr, aws, awt, awu, awv, aww, awx, awy, awz, aw0,
                    aw1, aw2, aw3, aw4, aw5, aw6, aw7, aw8, aw9, axa, axb, axc, axd, axe, axf, axg, axh, axi, axj,
                    axk, axl, axm, axn, axo, axp, axq, axr, axs, axt, axu, axv, axw, axx, axy, axz, ax0, ax1, ax2,
                    ax3, ax4, ax5, ax6, ax7, ax8, ax9, aya, ayb, ayc, ayd, aye, ayf, ayg, ayh, ayi, ayj, ayk, ayl,
                    aym, ayn, ayo, ayp, ayq, ayr, ays, ayt, ayu, ayv, ayw, ayx, ayy, ayz, ay0, ay1, ay2, ay3, ay4,
                    ay5, ay6, ay7, ay8, ay9, aza, azb, azc, azd, aze, azf, azg, azh, azi, azj, azk, azl, azm, azn,
                    azo, azp, azq, azr, azs, azt, azu, azv, azw, azx, azy, azz, az0, az1, az2, az3, az4, az5, az6,
                    az7, az8, az9, a0a, a0b, a0c, a0d, a0e, a0f, a0g, a0h, a0i, a0j, a0k, a0l, a0m, a0n, a0o, a0p,
                    a0q, a0r, a0s, a0t, a0u, a0v, a0w, a0x, a0y, a0z, a00, a01, a02, a03, a04, a05, a06, a07, a08,
                    a09, a1a, a1b, a1c, a1d, a1e, a1f, a1g, a1h, a1i, a1j, a1k, a1l, a1m, a1n, a1o, a1p, a1q, a1r,
                    a1s, a1t, a1u, a1v, a1w, a1x, a1y, a1z, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a2a,
                    a2b, a2c, a2d, a2e, a2f, a2g, a2h, a2i, a2j, a2k, a2l, a2m, a2n, a2o, a2p, a2q, a2r, a2s, a2t,
                    a2u, a2v, a2w, a2x, a2y, a2z, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a3a, a3b, a3c,
                    a3d, a3e, a3f, a3g, a3h, a3i, a3j, a3k, a3l, a3m, a3n, a3o, a3p, a3q, a3r, a3s, a3t, a3u, a3v,
                    a3w, a3x, a3y, a3z, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a4a, a4b, a4c, a4d, a4e,
                    a4f, a4g, a4h, a4i, a4j, a4k, a4l, a4m, a4n, a4o, a4p, a4q, a4r, a4s, a4t, a4u, a4v, a4w, a4x,
                    a4y, a4z, a40, a41, a42, a43, a44, a45, a46, a47;
            overflow();
        }
    }

    private static void overflow() {
        throw new StackOverflowError();
    }
}
