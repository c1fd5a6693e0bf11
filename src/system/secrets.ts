/** Shapes of the keys and tokens that occur in messages of providers, proxies and clients. */
const shapes: readonly RegExp[] = [
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9*._-]{6,}/g,
  /\bAIza[\w*-]{10,}/g,
  /\bya29\.[\w.-]+/g,
  /\b(?:gsk|xai|hf|r8|pplx|fw|csk|nvapi|ghp|gho|ghu|ghs|ghr|glpat|github_pat|npm|pypi|dop_v1)[-_][\w*-]{8,}/g,
  /\b(?:xox[abposr]|xapp|shpat|shpss|shpca|sq0atp|sq0csp|skein)[-_][\w*-]{8,}/g,
  /\bSG\.[\w-]{8,}(?:\.[\w-]+)?/g,
  /\bkey-(?=[a-z]*\d)[A-Za-z0-9]{13,}/g,
  /\bAC[0-9a-f]{32}\b/g,
  /\bEAA[A-Za-z0-9]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g,
  /(?<=\b(?:bearer|basic)\s+)[^\s"',;]+/gi,
  /(?<=\b(?:x-api-key|x-goog-api-key|api[-_]?key|access[-_]?token|auth[-_]?token|authorization|password|secret|key)["']?\s*[=:]\s*["']?)(?!bearer\b|basic\b)[^\s"'&,;]+/gi,
  /(?<=:\/\/)[^\s/@:]+:[^\s/@]+(?=@)/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]

/** The text with `[key]` in place of the given keys and of everything that looks like a key (R20). */
export function withoutSecrets(text: string, keys: readonly string[] = []): string {
  let clean = text
  for (const key of keys) if (key.length >= 4) clean = clean.replaceAll(key, '[key]')
  for (const shape of shapes) clean = clean.replaceAll(shape, '[key]')
  return clean
}
