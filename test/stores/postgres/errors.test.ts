import { describe, expect, it } from 'vitest'
import { NotFoundError, type SkeinError } from '../../../src/core/errors.ts'
import { isBroken, isLostRace, translate, translateCommit } from '../../../src/stores/postgres/errors.ts'
import { freshDatabase, openPool } from './database.ts'

const pool = openPool(await freshDatabase())

/** An error with this state, as the server sends it and pg returns it. */
async function raised(state: string): Promise<unknown> {
  return pool
    .query(`do $$ begin raise exception 'on purpose' using errcode = '${state}'; end $$`)
    .catch((error: unknown) => error)
}

describe('an error of the server', () => {
  const codes = {
    '53100': 'storage_full',
    '25006': 'read_only',
    XX001: 'corrupt',
    XX002: 'corrupt',
    '57P01': 'unavailable',
    '57P02': 'unavailable',
    '57P03': 'unavailable',
    '08006': 'unavailable',
    '08003': 'unavailable',
    '53300': 'unavailable',
    '57014': 'unavailable',
    '55P03': 'unavailable',
    '22P02': 'invalid',
    '22021': 'invalid',
    '22003': 'invalid',
    '54000': 'invalid',
    '28000': 'misconfigured',
    '28P01': 'misconfigured',
    '3D000': 'misconfigured',
    '42501': 'misconfigured',
    '26000': 'misconfigured',
    '42P05': 'misconfigured',
    '25P02': 'misconfigured',
    '42P01': 'misconfigured',
    '42703': 'misconfigured',
    '23514': 'corrupt',
    '23505': 'unavailable',
    '40001': 'unavailable',
    P0001: 'unavailable',
    XX000: 'unavailable',
    '0A000': 'unavailable',
  }
  it.each(Object.entries(codes))('is translated: %s to %s', async (state, code) => {
    const error = translate(await raised(state)) as SkeinError
    expect(error).toMatchObject({ code })
    // An InvalidError names the value; every other error has a next step.
    if (code !== 'invalid') expect(error.hint).toMatch(/\w/)
  })

  it('keeps the original as its cause', async () => {
    const error = await raised('53100')
    expect(translate(error)).toHaveProperty('cause', error)
  })

  it.each(['40001', '40P01', '23505'])('%s is a lost race', async state => {
    expect(isLostRace(await raised(state))).toBe(true)
  })

  it('leaves the outcome of a commit open only if the connection broke', async () => {
    expect(translateCommit(await raised('57P01'))).toMatchObject({ code: 'outcome_unknown' })
    expect(translateCommit(new Error('Connection terminated unexpectedly'))).toMatchObject({
      code: 'outcome_unknown',
    })
    expect(translateCommit(await raised('53100'))).toMatchObject({ code: 'storage_full' })
  })
})

it('is not translated if it is one of ours or of another library', () => {
  const ours = new NotFoundError('branch', 'main')
  const programming = new TypeError('x is not a function')
  for (const error of [ours, programming, 'a string', null]) expect(translate(error)).toBe(error)
  expect(isBroken(ours)).toBe(false)
  expect(isLostRace(ours)).toBe(false)
})
