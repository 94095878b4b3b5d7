package io.github.distributedsemaphore.spi.support;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads a private key in PEM. Java knows the form of PKCS #8 only; {@code consul tls cert create} writes that of SEC 1 ({@code
 * EC PRIVATE KEY}), which lacks the name of the algorithm around the key. The certificate has that name, in the same bytes.
 */
final class PemKey {
    private static final Pattern KEY = Pattern.compile(
            "-----BEGIN ((?:EC |RSA )?)PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END (?:EC |RSA )?PRIVATE KEY-----");
    private static final int SEQUENCE = 0x30;
    private static final int OCTETS = 0x04;
    private static final byte[] VERSION = {0x02, 0x01, 0x00};

    private PemKey() {}

    /**
     * Reads a key.
     *
     * @param text the content of the file; what stands around the key is passed over
     * @param belongsTo the public key of its certificate
     */
    static PrivateKey read(String text, PublicKey belongsTo) throws GeneralSecurityException {
        Matcher key = KEY.matcher(text);
        if (!key.find()) {
            throw new InvalidKeySpecException(
                    "there is no -----BEGIN PRIVATE KEY-----; a key with a password is converted with"
                            + " openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW");
        }
        byte[] bytes = Base64.getMimeDecoder().decode(key.group(2));
        byte[] whole = key.group(1).isEmpty() ? bytes : wrapped(bytes, belongsTo.getEncoded());
        return KeyFactory.getInstance(belongsTo.getAlgorithm()).generatePrivate(new PKCS8EncodedKeySpec(whole));
    }

    /** Makes of a bare key one of PKCS #8: version, algorithm, key. */
    private static byte[] wrapped(byte[] key, byte[] publicKey) {
        int start = headerLength(publicKey, 0);
        int end = start + headerLength(publicKey, start) + contentLength(publicKey, start);
        byte[] algorithm = Arrays.copyOfRange(publicKey, start, end);
        return element(SEQUENCE, VERSION, algorithm, element(OCTETS, key));
    }

    private static int headerLength(byte[] der, int at) {
        return der[at + 1] >= 0 ? 2 : 2 + (der[at + 1] & 0x7f);
    }

    private static int contentLength(byte[] der, int at) {
        return der[at + 1] >= 0
                ? der[at + 1]
                : new BigInteger(1, Arrays.copyOfRange(der, at + 2, at + headerLength(der, at))).intValueExact();
    }

    private static byte[] element(int tag, byte[]... parts) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            content.writeBytes(part);
        }
        ByteArrayOutputStream element = new ByteArrayOutputStream();
        element.write(tag);
        int length = content.size();
        byte[] digits = BigInteger.valueOf(length).toByteArray();
        int first = digits[0] == 0 ? 1 : 0;
        if (length >= 0x80) {
            element.write(0x80 | (digits.length - first));
        }
        element.write(digits, first, digits.length - first);
        element.writeBytes(content.toByteArray());
        return element.toByteArray();
    }
}
