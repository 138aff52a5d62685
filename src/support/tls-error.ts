const CODES = /^(?:ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_)/

/**
 * Tells whether it is Node's code of a certificate that is not trusted, or of a server without TLS:
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
export function isTlsError(code: string | undefined): boolean {
  return code !== undefined && CODES.test(code)
}
